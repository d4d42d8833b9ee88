import { base64Url } from "../../contract/text/base64.ts";

/** SHA-256 as PKCE sends it: in base64url without padding (RFC 7636, 4.2). */
export const challengeOf = async (verifier: string): Promise<string> =>
  base64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
