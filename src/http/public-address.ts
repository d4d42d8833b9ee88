// The address of this service that others are told: what its operator says, else what the request says.

import { publicOriginOf } from "../../contract/text/public-origin.ts";
import type { AppContext } from "./auth.ts";

const HOST = /^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?$/;

/** For addresses that outlive the request. A forwarded host is not used: any client may send one, to mislead others. */
export const publicOrigin = (c: AppContext): string => publicOriginOf(c.env) ?? new URL(c.req.url).origin;

/** For absolute links in the client's own answer: behind a proxy that names itself, the proxy's. */
export const clientOrigin = (c: AppContext): string => publicOriginOf(c.env) ?? forwardedOrigin(c);

const forwardedOrigin = (c: AppContext): string => {
  const { protocol, host } = new URL(c.req.url);
  const forwarded = (name: string): string => c.req.header(name)?.split(",")[0]?.trim() ?? "";
  const scheme = forwarded("x-forwarded-proto");
  const named = forwarded("x-forwarded-host");
  return `${scheme === "https" || scheme === "http" ? `${scheme}:` : protocol}//${HOST.test(named) ? named : host}`;
};
