// The models that the front door offers, with OpenAI's and Anthropic's fields in one object.

import * as z from "zod";
import { instant } from "../words/field.ts";
import { pageOf } from "./page.ts";

export const modelResource = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    type: z.literal("model"),
    created: z
      .int()
      .meta({ description: "seconds since 1970: when its worker registered; 0, which is not known, for an alias" }),
    created_at: instant,
    owned_by: z.string().meta({ description: "the provider of the worker that offers it, or `alias`" }),
    display_name: z.string(),
  })
  .meta({ id: "FrontDoorModel" });

export const modelList = z
  .object({
    object: z.literal("list"),
    ...pageOf(modelResource),
    has_more: z.literal(false),
  })
  .meta({ id: "FrontDoorModelList" });

export type ModelList = z.infer<typeof modelList>;
