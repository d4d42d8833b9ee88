// The dashboard's session.

import * as z from "zod";
import { instant } from "../words/field.ts";
import { role } from "./key.ts";
import { personResource } from "./person.ts";

export const sessionRequest = z.strictObject({ key: z.string().min(1).max(512) }).meta({ id: "SignIn" });
export const sessionAnswer = z
  .object({
    tenant: z.string(),
    role,
    name: z.string().meta({ description: "the person's name, or the key's" }),
    key_id: z.string().nullable(),
    person: personResource.nullable().meta({ description: "who it is; null for a key of the tenant" }),
    expires_at: instant.nullable(),
  })
  .meta({ id: "Session" });
export type SessionAnswer = z.infer<typeof sessionAnswer>;
