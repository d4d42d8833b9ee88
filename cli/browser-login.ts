// Signing in by the browser: the person agrees in the dashboard, which sends a one-time code to a loopback address of
// this process (RFC 8252). The key is fetched with the code and a secret that never left this process (PKCE).

import { createHash, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import type { RedeemedKey } from "../contract/access/key-grant.ts";
import { createClient } from "../contract/client.ts";
import { openBrowser } from "./browser.ts";
import { Failure } from "./failure.ts";
import type { Output } from "./output.ts";

const WAITS_MS = 300_000;
const DONE = "You are signed in on the command line. You may close this page.";
const NOT_OURS = "This is not the answer that signalbox login waits for.";

interface BrowserLogin {
  readonly url: string;
  /** Undefined: the tenant that the dashboard offers. */
  readonly tenant: string | undefined;
  readonly opensBrowser: boolean;
  readonly output: Output;
  readonly signal: AbortSignal;
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });

/** The code of the first answer with our state; others are refused, and do not end the wait. */
const codeFrom = (server: Server, state: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Failure("nobody agreed in the browser within five minutes")), WAITS_MS);
    // An interrupted login ends at once.
    timer.unref();
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    server.on("request", (request, response) => {
      // Not by URL, which throws at a path such as `//`: anybody on this machine may send one.
      const asked = new URLSearchParams(request.url?.split("?")[1]);
      const code = asked.get("state") === state ? asked.get("code") : null;
      const headers = {
        "content-type": "text/plain; charset=utf-8",
        "referrer-policy": "no-referrer",
        connection: "close",
      };
      response.writeHead(code === null ? 400 : 200, headers).end(code === null ? NOT_OURS : DONE);
      if (code === null) return;
      clearTimeout(timer);
      resolve(code);
    });
  });

export const logInByBrowser = async ({
  url,
  tenant,
  opensBrowser,
  output,
  signal,
}: BrowserLogin): Promise<RedeemedKey> => {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(16).toString("base64url");
  const server = createServer();
  try {
    const port = await listen(server);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const asked = new URLSearchParams({ port: String(port), name: hostname().slice(0, 80), challenge, state });
    const where = tenant === undefined ? "" : `?${new URLSearchParams({ tenant })}`;
    const address = `${url}/${where}#/grant-key?${asked}`;
    output.say(
      opensBrowser
        ? `Opening the browser. If it does not open, go to:`
        : "Open this address in a browser of this machine:",
    );
    output.say(address);
    const coming = codeFrom(server, state, signal);
    if (opensBrowser) void openBrowser(address);
    return await createClient({ url }).signIn.redeemKey(await coming, verifier, { signal });
  } finally {
    server.close();
    server.closeAllConnections();
  }
};

/** Whether people sign in to it with an organisation's identity; an older service does not answer this, which means no. */
export const offersBrowserLogin = async (url: string, tenant = "default", signal: AbortSignal): Promise<boolean> => {
  const offer = await createClient({ url, retries: 0 })
    .signIn.offer(tenant, { signal })
    .catch(() => null);
  return offer !== null && (offer.oidc !== null || offer.jwt_header);
};
