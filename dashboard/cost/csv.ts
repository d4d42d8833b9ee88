// Rows as a CSV file. A cell that a spreadsheet would read as a formula gets an apostrophe in front.

/** Some take the wide forms of these signs, too. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/** Also what ends a cell in another language's spreadsheet: the text behind it would begin a new cell. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

const cellOf = (value: string | number | null): string => {
  if (typeof value === "number") return String(value);
  const text = value ?? "";
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csvOf = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");

export const download = (name: string, text: string): void => {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};
