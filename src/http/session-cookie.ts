// The cookie of the dashboard's session, of a key or of a person.

import { deleteCookie, setCookie } from "hono/cookie";
import { type AppContext, isHttps, sessionCookies } from "./auth.ts";

export const setSessionCookie = (c: AppContext, token: string, expires: Date | null): void => {
  const secure = isHttps(c);
  setCookie(c, sessionCookies(c)[secure ? 0 : 1], token, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    secure,
    ...(expires === null ? {} : { expires }),
  });
};

export const deleteSessionCookies = (c: AppContext): void => {
  const [bound, plain] = sessionCookies(c);
  deleteCookie(c, plain, { path: "/" });
  deleteCookie(c, bound, { path: "/", secure: true });
};
