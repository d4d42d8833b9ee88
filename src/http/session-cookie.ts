// The cookie of the dashboard's session, of a key or of a person.

import { deleteCookie, setCookie } from "hono/cookie";
import { type AppContext, isHttps, SESSION_COOKIES } from "./auth.ts";

const [SECURE_COOKIE, PLAIN_COOKIE] = SESSION_COOKIES;

export const setSessionCookie = (c: AppContext, token: string, expires: Date | null): void => {
  const secure = isHttps(c);
  setCookie(c, secure ? SECURE_COOKIE : PLAIN_COOKIE, token, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    secure,
    ...(expires === null ? {} : { expires }),
  });
};

export const deleteSessionCookies = (c: AppContext): void => {
  deleteCookie(c, PLAIN_COOKIE, { path: "/" });
  deleteCookie(c, SECURE_COOKIE, { path: "/", secure: true });
};
