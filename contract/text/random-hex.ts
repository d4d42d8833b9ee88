// Random digits, in any runtime: unlike a UUID, a browser makes them by http, too.

import { hexOf } from "../../domain/words/hex.ts";

/** So many of them, an even number. */
export const randomHex = (chars: number): string => hexOf(crypto.getRandomValues(new Uint8Array(chars / 2)));
