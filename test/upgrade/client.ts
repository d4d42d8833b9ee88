// Calls to a server by one key, as a client makes them.

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what an older release answered has the shape that the test expects of it
  readonly body: any;
}

export interface Client {
  readonly key: string;
  readonly call: (method: string, route: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;
  /** The body of an answer that must be a success. */
  readonly get: (route: string) => Promise<Answer["body"]>;
  readonly post: (route: string, body?: unknown) => Promise<Answer["body"]>;
}

export const clientOf = (url: string, key: string): Client => {
  const call: Client["call"] = async (method, route, body, headers = {}) => {
    const response = await fetch(`${url}${route}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  };
  const succeed = async (method: string, route: string, body?: unknown): Promise<Answer["body"]> => {
    const answer = await call(method, route, body);
    if (answer.status < 300) return answer.body;
    throw new Error(`${method} ${route} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  };
  return {
    key,
    call,
    get: (route) => succeed("GET", route),
    post: (route, body) => succeed("POST", route, body ?? {}),
  };
};
