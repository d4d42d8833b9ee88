// Requests by path and key, with any answer: for tests that check status, headers and body. Each is sent once; nothing
// is retried.

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies by hand
export type Body = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Null if there is none. */
  readonly body: Body;
}

export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export const send = async (
  { url, key }: { readonly url: string; readonly key: string },
  method: string,
  route: string,
  body?: unknown,
  { headers = {}, signal }: SendOptions = {},
): Promise<Answer> => {
  const response = await fetch(url + route, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
};

/** The body of an answer that must be a success. */
export const succeed = async (...request: Parameters<typeof send>): Promise<Body> => {
  const { status, body } = await send(...request);
  if (status < 300) return body;
  throw new Error(`${request[1]} ${request[2]}: ${status} ${JSON.stringify(body)}`);
};
