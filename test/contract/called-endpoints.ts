// Which endpoints a client's methods call: each method is called once with placeholder names, and its request is
// recorded.

const PART = "PART";

type Verb = (...args: unknown[]) => unknown;

const isIterator = (value: unknown): value is AsyncGenerator =>
  typeof (value as { next?: unknown } | null)?.next === "function";

const isNoun = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** `GET /api/jobs/{}`: a method and a path, with its names replaced. */
export const shapeOf = (method: string, path: string): string =>
  `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{}").replaceAll(PART, "{}")}`;

export class EndpointNotes {
  readonly shapes = new Set<string>();

  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input));
    this.shapes.add(shapeOf(init?.method ?? "GET", pathname));
    // An answer that ends any wait for an end.
    const isStream = new Headers(init?.headers).get("accept") === "text/event-stream";
    return isStream ? new Response("event: end\ndata: {}\n\n") : Response.json({ status: "completed" });
  };

  /** Calls every method of every part of `client`. */
  async callAll(client: object): Promise<void> {
    for (const value of Object.values(client)) {
      if (typeof value === "function") await this.#call(value as Verb);
      else if (isNoun(value)) await this.callAll(value);
    }
  }

  async #call(verb: Verb): Promise<void> {
    // Methods without a name argument get one as body or options, which does no harm here.
    await Promise.resolve()
      .then(async () => {
        const result = verb(PART, {}, {});
        if (isIterator(result)) await result.next();
        else await result;
      })
      .catch(() => undefined);
  }
}
