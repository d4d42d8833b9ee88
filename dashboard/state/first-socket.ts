// The live connection of a fresh document, opened while the rest of its code is still loading: handshake and snapshot
// take as long as that. A script of its own, before the page's. Invariant: only the user for whom it was opened takes it.

import { hintText, isHintOver, readHint } from "./session-hint.ts";

/** A page whose code does not come lets it go. */
const MOST_HEARD = 100;

interface FirstSocket {
  readonly socket: WebSocket;
  readonly openedAt: number;
  /** What it received before it was taken, and when. */
  readonly heard: { readonly text: string; readonly at: number }[];
}

let first: (FirstSocket & { readonly hint: string | null }) | null = null;

/** An address with a key is of a user who signs in first. */
const mayOpen = (): boolean =>
  readHint() === "in" && !isHintOver() && (location.hash === "" || location.hash.startsWith("#/"));

const open = (): void => {
  const openedAt = Date.now();
  const socket = openLive();
  const heard: FirstSocket["heard"] = [];
  first = { socket, openedAt, heard, hint: hintText() };
  socket.onmessage = ({ data }) => {
    if (heard.push({ text: String(data), at: Date.now() }) > MOST_HEARD) dropFirstSocket();
  };
};

export const openLive = (): WebSocket => {
  const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/live`);
  // Without a message from us, the socket would not be closed at once when its key ends.
  socket.onopen = () => socket.send("ping");
  return socket;
};

export const dropFirstSocket = (): void => {
  const dropped = first;
  first = null;
  if (dropped === null) return;
  const { socket } = dropped;
  socket.onopen = socket.onmessage = null;
  // Closed before it stands, it would be an error in the console.
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
  else socket.close();
};

/** Once; null if there is none, it has ended, or another tab has signed in or out meanwhile. */
export const takeFirstSocket = (): FirstSocket | null => {
  const taken = first;
  if (taken === null || taken.hint !== hintText() || taken.socket.readyState > WebSocket.OPEN) {
    dropFirstSocket();
    return null;
  }
  first = null;
  return taken;
};

// The board's tests have no browser.
if (globalThis.location !== undefined && mayOpen()) open();
