// Where people reach this service: as its operator says, else as the request itself. A forwarded host that nobody
// configured is anybody's: it would lead the identity provider's answer elsewhere.

import type { AppContext } from "../http/auth.ts";

export const publicOrigin = (c: AppContext): string => {
  const { SERVICE_PUBLIC_URL: given = "" } = c.env;
  if (given === "") return new URL(c.req.url).origin;
  if (!URL.canParse(given)) throw new Error("SERVICE_PUBLIC_URL is no URL: give it as https://jobs.example.com");
  return new URL(given).origin;
};

export const redirectUri = (c: AppContext): string => `${publicOrigin(c)}/auth/callback`;
