// The release, as `GET /health` tells it; a test holds it against package.json.
export const VERSION = "0.1.0";
