// The address of a service, as a person types it.

/** What is wrong with an address that `isAddress` refuses. */
export const NOT_AN_ADDRESS = "is not an address: it must start with http:// or https://";

/** As it is often typed, with a slash at its end, or copied from a browser, with the dashboard's page behind it. */
export const trimAddress = (text: string): string =>
  text
    .trim()
    .replace(/[?#].*$/, "")
    .replace(/\/+$/, "");

export const isAddress = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);
