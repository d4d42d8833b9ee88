// Keys of hosted providers that the coordinator calls itself. No answer contains one.

import * as z from "zod";
import { instant, providerName } from "../words/field.ts";

const MAX_KEY_CHARS = 4_096;

export const providerKeyParam = z.object({ provider: providerName });

export const providerKeyRequest = z
  .strictObject({
    key: z
      .string()
      .min(1)
      .max(MAX_KEY_CHARS)
      .regex(/^[\x21-\x7e]+$/, "must be visible ASCII characters without spaces"),
  })
  .meta({ id: "NewProviderKey" });

export const providerKeyResource = z
  .object({
    provider: z.string(),
    source: z.enum(["tenant", "operator"]).meta({
      description: "tenant: set by an admin; operator: from the deployment, which lets this tenant use it",
    }),
    set_at: instant.nullable(),
    set_by: z.string().nullable().meta({ description: "the name of the key with which it was set" }),
  })
  .meta({ id: "ProviderKey" });

export const providerKeyList = z.object({ keys: z.array(providerKeyResource) }).meta({ id: "ProviderKeyList" });

export type ProviderKeyResource = z.infer<typeof providerKeyResource>;
export type ProviderKeyList = z.infer<typeof providerKeyList>;
