// Where a sign-in leads to: a place of the dashboard and nothing else, whatever the link said (open redirects).

const MAX_CHARS = 1_000;
const HOME = "/";
/** Any origin: only whether the path leaves it matters. */
const HERE = "https://here.invalid";

/** The path with its fragment, as in `/#/jobs`; the dashboard's start for anything else. */
export const returnPath = (given: string | undefined): string => {
  if (given === undefined || given.length > MAX_CHARS || !given.startsWith("/")) return HOME;
  // Browsers read a backslash as a slash, and drop tabs and line breaks.
  if (/[\\\p{Cc}]/u.test(given) || !URL.canParse(given, HERE)) return HOME;
  const url = new URL(given, HERE);
  return url.origin === HERE && url.pathname === HOME ? `${HOME}${url.hash}` : HOME;
};
