// Dollars for people. Invariant: a small sum keeps enough digits to differ from zero. By hand: in a browser the first use
// of `Intl` takes as long as drawing the page.

const THOUSANDS = /\B(?=(?:\d{3})+\.)/g;
/** Those that follow the cents. */
const NEEDLESS_ZEROS = /(?<=\.\d\d\d*)0+$/;

/** To the cent from ten cents on, unless it is told how many digits follow the point at most. */
export const usdText = (value: number, mostDigits?: number): string => {
  if (value === 0) return "$0.00";
  if (value > 0 && value < 0.000001) return "under $0.000001";
  const digits = mostDigits ?? (Math.abs(value) >= 0.1 ? 2 : Math.abs(value) >= 0.001 ? 4 : 6);
  const text = Math.abs(value).toFixed(digits).replace(THOUSANDS, ",").replace(NEEDLESS_ZEROS, "");
  return `${value < 0 ? "-" : ""}$${text}`;
};
