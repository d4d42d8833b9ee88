// The dashboard's sign-in: a key for a session's cookie.

import { request } from "./client.ts";

export const signIn = async (key: string | null) => {
  const answer = await request(null, "POST", "/session", { key });
  const cookie = answer.headers.get("set-cookie") ?? "";
  return { answer, cookie, pair: cookie.split(";")[0] ?? "" };
};
