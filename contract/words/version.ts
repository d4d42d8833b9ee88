// The release, as `GET /health` returns it; a test compares it with package.json.
export const VERSION = "0.1.0";

/** Where a coordinator of that version has its package. npx caches it by its address, which the query makes new. */
export const packageAt = (url: string, version: string): string => `${url}/signalbox.tgz?${version}`;
