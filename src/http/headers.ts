// Headers that every response bears: the request's id, and what keeps a browser from doing anything but what our own
// page asks of it.

const SECURITY: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "strict-transport-security": "max-age=31536000",
};

const SWITCHING_PROTOCOLS = 101;

const upgraded = ({ webSocket }: Response, requestId: string): Response =>
  new Response(null, { status: SWITCHING_PROTOCOLS, webSocket, headers: { "x-request-id": requestId } });

/** The response with its headers; a socket is no page, so an upgraded one bears the request's id alone. */
export const secured = (response: Response, requestId: string): Response => {
  if (response.status === SWITCHING_PROTOCOLS) return upgraded(response, requestId);
  const answer = new Response(response.body, response);
  for (const [name, value] of Object.entries(SECURITY)) answer.headers.set(name, value);
  answer.headers.set("x-request-id", requestId);
  if (!answer.headers.has("cache-control")) answer.headers.set("cache-control", "no-store");
  return answer;
};
