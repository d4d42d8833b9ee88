// How long a text may be is said in bytes of UTF-8; most texts are not encoded to know that they are short enough.

import { expect, it } from "vitest";
import { isWithinBytes, utf8Bytes } from "../../contract/words/field.ts";

const TEXTS = ["", "a", "plain text", "é", "naïve", "€", "€uro €", "😀", "a😀€é", "\ud800"];

it.each(TEXTS)("%j is within its own bytes, and within no fewer", (text) => {
  const bytes = utf8Bytes(text);
  for (let limit = 0; limit <= 4 * text.length + 1; limit += 1)
    expect([limit, isWithinBytes(text, limit)]).toEqual([limit, bytes <= limit]);
});
