// The release, as `GET /health` returns it; a test compares it with package.json.
export const VERSION = "0.1.0";
