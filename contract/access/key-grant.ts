// A personal key for a program on a person's machine: `signalbox login` in the browser.

import * as z from "zod";
import { identifier, label } from "../words/field.ts";
import { keyAnswer } from "./key.ts";
import { personRole } from "./person.ts";

const PKCE = /^[A-Za-z0-9._~-]{43,128}$/;
const PKCE_SAYS = "43 to 128 letters, digits and - . _ ~";

export const keyGrantRequest = z
  .strictObject({
    name: label(100).meta({ description: "what the key will be called" }),
    challenge: identifier(/^[A-Za-z0-9_-]{43}$/, 43, "the SHA-256 of the verifier in base64url, as PKCE has it"),
  })
  .meta({ id: "KeyGrantRequest" });
export const keyGrantAnswer = z
  .object({ code: z.string().meta({ description: "works once, within a minute" }), role: personRole })
  .meta({ id: "KeyGrant" });

export const redeemRequest = z
  .strictObject({ code: z.string().min(1).max(1_000), verifier: identifier(PKCE, 128, PKCE_SAYS) })
  .meta({ id: "KeyRedemption" });
export const redeemAnswer = keyAnswer.extend({ tenant: z.string() }).meta({ id: "RedeemedKey" });

export type KeyGrantRequest = z.infer<typeof keyGrantRequest>;
export type KeyGrantAnswer = z.infer<typeof keyGrantAnswer>;
export type RedeemedKey = z.infer<typeof redeemAnswer>;
