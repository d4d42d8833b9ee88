// The HTTP statuses that the code asks about by name.

export const SWITCHING_PROTOCOLS = 101;
export const OK = 200;
export const NO_CONTENT = 204;
export const PARTIAL_CONTENT = 206;
export const NOT_MODIFIED = 304;
export const NOT_FOUND = 404;
export const CONFLICT = 409;
export const GONE = 410;
export const PAYLOAD_TOO_LARGE = 413;
export const FAILED_DEPENDENCY = 424;
export const TOO_MANY_REQUESTS = 429;
export const INTERNAL_SERVER_ERROR = 500;
export const INSUFFICIENT_STORAGE = 507;
