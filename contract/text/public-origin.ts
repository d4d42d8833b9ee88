// Where people reach the service, as its operator says it (`SERVICE_PUBLIC_URL`).

/** Null if it is not said, or is no address. */
export const publicOriginOf = ({ SERVICE_PUBLIC_URL: given = "" }: { readonly SERVICE_PUBLIC_URL?: string }) =>
  /^https?:/.test(given) && URL.canParse(given) ? new URL(given).origin : null;
