// The rest of a body whose request has its answer. Many clients read the answer only when they have sent the body (Node's
// `fetch` sends a form so), and lose it if the connection ends before: the rest is read and dropped, within bounds.

import type { IncomingMessage, ServerResponse } from "node:http";
import { MIB } from "../../domain/words/size.ts";

export const LATE_BODY: { bytes: number; ms: number } = { bytes: 512 * MIB, ms: 10_000 };

/** The adapter and Node end such a connection soon after the answer, by `destroySoon`: it waits for the rest. */
export const dropLateBody = (incoming: IncomingMessage, outgoing: ServerResponse, { bytes, ms } = LATE_BODY): void => {
  outgoing.prependOnceListener("finish", () => {
    const { socket } = incoming;
    if (incoming.complete || socket.destroyed) return;
    let isToEnd = false;
    let droppedBytes = 0;
    const stop = (): void => {
      clearTimeout(timer);
      incoming.off("data", drop).off("end", stop);
      socket.off("close", stop);
      Reflect.deleteProperty(socket, "destroySoon");
      if (isToEnd) socket.destroySoon();
    };
    const cut = (): void => {
      isToEnd = true;
      stop();
    };
    const drop = (piece: Buffer): void => {
      droppedBytes += piece.byteLength;
      if (droppedBytes > bytes) cut();
    };
    const timer = setTimeout(cut, ms).unref();
    socket.once("close", stop);
    socket.destroySoon = () => {
      isToEnd = true;
    };
    incoming.on("data", drop).once("end", stop).resume();
  });
};
