// Dollars for people. Invariant: a small sum keeps enough digits to differ from zero.

const LEAST_USD = 0.000001;

export const usdText = (value: number): string => {
  if (value === 0) return "$0.00";
  if (value > 0 && value < LEAST_USD) return `under $${LEAST_USD.toFixed(6)}`;
  const digits = Math.abs(value) >= 0.1 ? 2 : Math.abs(value) >= 0.001 ? 4 : 6;
  return value.toLocaleString("en-US", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
};
