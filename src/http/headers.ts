// Headers that every response bears: the request's id, and what keeps a browser from doing anything but what our own
// page asks of it. An answer of the API is made with all of them at once: to set them one by one afterwards costs a
// fifth of a call.

const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "strict-transport-security": "max-age=31536000",
};

const REQUEST_ID = "x-request-id";

export const headersFor = (requestId: string, more: Readonly<Record<string, string>>): Record<string, string> => ({
  ...SECURITY,
  "cache-control": "no-store",
  ...more,
  [REQUEST_ID]: requestId,
});

/** Made with all of its headers: to look for them would make of the light record that Node has a whole `Headers`. */
const complete = new WeakSet<Response>();

/** Text with every header that a response bears. */
export const completeResponse = (
  text: string,
  status: number,
  requestId: string,
  more: Readonly<Record<string, string>>,
): Response => {
  const response = new Response(text, { status, headers: headersFor(requestId, more) });
  complete.add(response);
  return response;
};

const SWITCHING_PROTOCOLS = 101;

const upgraded = ({ webSocket }: Response, requestId: string): Response =>
  new Response(null, { status: SWITCHING_PROTOCOLS, webSocket, headers: { [REQUEST_ID]: requestId } });

/** The response with its headers, if it has not got them yet; a socket is no page, so an upgraded one bears the request's id alone. */
export const secured = (response: Response, requestId: string): Response => {
  if (complete.has(response)) return response;
  if (response.status === SWITCHING_PROTOCOLS) return upgraded(response, requestId);
  const { headers } = response;
  if (headers.has(REQUEST_ID)) return response;
  for (const [name, value] of Object.entries(SECURITY)) headers.set(name, value);
  headers.set(REQUEST_ID, requestId);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  return response;
};
