// Reads a response's body within limits on bytes and time, counted while it streams and after decompression. A false
// Content-Length, a compression bomb or a slow drip cannot exceed the limits. Portable: uses no runtime-specific API.

import { whenAborted } from "./when-aborted.ts";

type BodyReading = { ok: true; text: string; byteCount: number } | { ok: false; reason: string };

export const readBody = async (response: Response, maxBytes: number, signal: AbortSignal): Promise<BodyReading> => {
  const reader = response.body?.getReader();
  if (reader === undefined) return { ok: true, text: "", byteCount: 0 };
  const stopped = whenAborted(signal);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let text = "";
  let byteCount = 0;
  try {
    for (;;) {
      const chunk = await Promise.race([reader.read(), stopped.promise]);
      if (chunk === "aborted") return { ok: false, reason: "the answer took too long" };
      if (chunk.done) return { ok: true, text: text + decoder.decode(), byteCount };
      byteCount += chunk.value.byteLength;
      if (byteCount > maxBytes) return { ok: false, reason: `the answer is larger than ${maxBytes} bytes` };
      text += decoder.decode(chunk.value, { stream: true });
    }
  } catch (error) {
    if (signal.aborted) return { ok: false, reason: "the answer took too long" };
    if (error instanceof TypeError) return { ok: false, reason: "the answer ended too early or is not UTF-8" };
    return { ok: false, reason: "the answer ended too early" };
  } finally {
    stopped.forget();
    reader.cancel().catch(() => {});
  }
};
