// The address at which the client called, for absolute links in its own answer: behind a proxy that says so, the proxy's.

import type { AppContext } from "./auth.ts";

const HOST = /^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?$/;

export const clientOrigin = (c: AppContext): string => {
  const { protocol, host } = new URL(c.req.url);
  const forwarded = (name: string): string => c.req.header(name)?.split(",")[0]?.trim() ?? "";
  const scheme = forwarded("x-forwarded-proto");
  const named = forwarded("x-forwarded-host");
  return `${scheme === "https" || scheme === "http" ? `${scheme}:` : protocol}//${HOST.test(named) ? named : host}`;
};
