// The address of a service, as a person types it.

/** What is wrong with an address that `isAddress` refuses. */
export const NOT_AN_ADDRESS = "is not an address: it must start with http:// or https://";

export const isAddress = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);
