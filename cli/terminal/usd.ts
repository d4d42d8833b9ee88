// Dollars for tables and records.

/** To the nano-dollar, so that rows add up and a small sum is neither nothing nor 2e-7; four decimals at least. */
export const exactUsd = (value: number): string => value.toFixed(9).replace(/0{1,5}$/, "");
