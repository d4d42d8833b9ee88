// A browser without pages: follows redirects between origins and keeps each origin's cookies, so that a test sees every
// step of a sign-in.

interface Cookie {
  readonly value: string;
  readonly text: string;
}

export interface Step {
  readonly status: number;
  readonly url: string;
  readonly location: string | null;
  readonly text: string;
  readonly cookies: readonly string[];
}

export class Traveller {
  readonly #jars = new Map<string, Map<string, Cookie>>();

  jar(url: string): Map<string, Cookie> {
    const { host } = new URL(url);
    const jar = this.#jars.get(host) ?? new Map<string, Cookie>();
    this.#jars.set(host, jar);
    return jar;
  }

  cookieHeader(url: string): string {
    return [...this.jar(url)].map(([name, { value }]) => `${name}=${value}`).join("; ");
  }

  async step(url: string, init: RequestInit = {}): Promise<Step> {
    const headers = new Headers(init.headers);
    const cookie = this.cookieHeader(url);
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    const cookies = response.headers.getSetCookie();
    for (const text of cookies) {
      const [name = "", value = ""] = (text.split(";")[0] ?? "").split(/=(.*)/s);
      if (/max-age=0/i.test(text) || value === "") this.jar(url).delete(name);
      else this.jar(url).set(name, { value, text });
    }
    const location = response.headers.get("location");
    const next = location === null ? null : new URL(location, url).href;
    return { status: response.status, url, location: next, text: await response.text(), cookies };
  }

  /** Follows redirects until one leads to an address that `isEnd` takes, or there is none. */
  async walk(url: string, isEnd: (url: string) => boolean = () => false): Promise<Step> {
    let last = await this.step(url);
    for (let steps = 0; steps < 20 && last.location !== null && !isEnd(last.location); steps += 1) {
      last = await this.step(last.location);
    }
    return last;
  }
}
