// Sends what the service's own code fetches by the operator's proxies, which workerd does not know. What needs no proxy
// goes back to workerd, whose network refuses the addresses that may not be reached; of what goes by a proxy, the proxy
// resolves the name.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { Agent, type Dispatcher } from "undici";
import { log } from "../../log/log.ts";
import { newDispatcher, type Proxies } from "../../worker/dispatcher.ts";
import type { Detour, Detours } from "../config/networks.ts";

/** Of one connection, or refused by the client's library. */
const OWN_HEADERS = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "expect"];
/** Who asks has its own limits. */
const PATIENT = { headersTimeout: 0, bodyTimeout: 0 };
const SERVER_ERROR = 500;

type Headers = Record<string, string | string[] | undefined>;

const passedOn = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name)));

/** workerd's own answer where it reaches nothing: what is there answers with more headers. */
const isOfWorkerd = ({ statusCode, headers }: Dispatcher.ResponseData): boolean =>
  statusCode >= SERVER_ERROR && headers.date === undefined && headers["content-type"] === undefined;

interface Ways {
  readonly isDirect: (url: URL) => boolean;
  readonly proxied: Dispatcher;
  readonly direct: Dispatcher;
}

const send = (ways: Ways, url: URL, incoming: IncomingMessage, signal: AbortSignal) => {
  const { method = "GET", headers } = incoming;
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  const asked = {
    method: method as Dispatcher.HttpMethod,
    headers: { ...passedOn(headers), host: url.host },
    body: hasBody ? incoming : null,
    signal,
  };
  return ways.isDirect(url)
    ? ways.direct.request({ ...asked, origin: "http://workerd", path: url.href })
    : ways.proxied.request({ ...asked, origin: url.origin, path: url.pathname + url.search });
};

const answer = async (ways: Ways, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const url = new URL(incoming.url ?? "");
  try {
    const answered = await send(ways, url, incoming, gone.signal);
    if (ways.isDirect(url) && isOfWorkerd(answered)) throw new Error("it cannot be reached");
    outgoing.writeHead(answered.statusCode, passedOn(answered.headers)).flushHeaders();
    await pipeline(answered.body, outgoing);
  } catch (error) {
    if (!gone.signal.aborted) log("warn", "way_out.failed", { target: url.host, detail: (error as Error).message });
    outgoing.destroy();
  }
};

const serveDetour = async (proxies: Proxies, { asked, direct }: Detour): Promise<Server> => {
  const ways = {
    isDirect: proxies.isDirect,
    proxied: newDispatcher(proxies, PATIENT),
    // A connection of its own for each request: the process behind it may start again.
    direct: new Agent({ ...PATIENT, connect: { socketPath: direct }, pipelining: 0 }),
  };
  // As a proxy it is asked without `Host`.
  const server = createServer({ requireHostHeader: false, requestTimeout: 0 }, (incoming, outgoing) => {
    answer(ways, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(asked);
  await once(server, "listening");
  return server;
};

/** Resolves to what ends it. */
export const serveWayOut = async (proxies: Proxies, detours: Detours): Promise<() => void> => {
  const servers = await Promise.all(Object.values(detours).map((detour) => serveDetour(proxies, detour)));
  return () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
};
