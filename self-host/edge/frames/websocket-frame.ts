// WebSocket frames (RFC 6455, 5.2) between the edge in Node and our own workerd processes.

/** The longest header of a frame without a mask, as a server sends it. */
export const MAX_HEADER_BYTES = 10;
const LENGTH = 0x7f;
/** The header's second byte holds the payload's length, or the size of the length field that follows. */
const IN_2_BYTES = 126;
const IN_8_BYTES = 127;
const MAX_IN_2_BYTES = 0xffff;
/** The last frame of a message: a message in one frame. */
const WHOLE_TEXT = 0x81;
const WHOLE_BYTES = 0x82;
export const IS_MASKED = 0x80;
export const MASK_BYTES = 4;

/** Bytes of the header of a frame without a mask, by its first two bytes. */
export const headerBytes = (header: Buffer): number => {
  const length = (header[1] ?? 0) & LENGTH;
  if (length < IN_2_BYTES) return 2;
  return length === IN_2_BYTES ? 4 : MAX_HEADER_BYTES;
};

/** `header` is complete. */
export const payloadBytes = (header: Buffer): number => {
  const length = (header[1] ?? 0) & LENGTH;
  if (length < IN_2_BYTES) return length;
  return length === IN_2_BYTES ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2));
};

/** A client's frame. Its mask protects proxies, which are not between our processes: zeros leave the text as it is. */
export const textFrame = (text: string): Buffer => {
  const length = Buffer.byteLength(text);
  const kind = length < IN_2_BYTES ? length : length <= MAX_IN_2_BYTES ? IN_2_BYTES : IN_8_BYTES;
  const head = Buffer.from([WHOLE_TEXT, IS_MASKED | kind]);
  const maskAt = headerBytes(head);
  const frame = Buffer.allocUnsafe(maskAt + MASK_BYTES + length);
  head.copy(frame);
  if (kind === IN_2_BYTES) frame.writeUInt16BE(length, head.length);
  if (kind === IN_8_BYTES) frame.writeBigUInt64BE(BigInt(length), head.length);
  frame.fill(0, maskAt, maskAt + MASK_BYTES);
  frame.write(text, maskAt + MASK_BYTES);
  return frame;
};

/** Text is a string. */
export type Message = string | Buffer;

/** Reads the messages that a server sends, one a frame. Anything else is an error. */
export class MessageReader {
  #received: Buffer[] = [];
  #receivedBytes = 0;
  /** Fewer bytes do not complete the current frame, or its header. */
  #wantedBytes = 2;

  /** Returns the messages that are complete with these bytes. */
  read(bytes: Buffer): Message[] {
    this.#received.push(bytes);
    this.#receivedBytes += bytes.length;
    const messages: Message[] = [];
    while (this.#receivedBytes >= this.#wantedBytes) {
      const received = this.#whole();
      const header = headerBytes(received);
      this.#wantedBytes = received.length < header ? header : header + payloadBytes(received);
      if (received.length < this.#wantedBytes) break;
      const isText = received[0] === WHOLE_TEXT;
      if (!isText && received[0] !== WHOLE_BYTES) throw new Error("not a whole message");
      const message = received.subarray(header, this.#wantedBytes);
      messages.push(isText ? message.toString() : message);
      this.#keep(received.subarray(this.#wantedBytes));
    }
    return messages;
  }

  #whole(): Buffer {
    const [first] = this.#received;
    if (this.#received.length === 1 && first !== undefined) return first;
    const whole = Buffer.concat(this.#received);
    this.#received = [whole];
    return whole;
  }

  #keep(rest: Buffer): void {
    this.#received = rest.length === 0 ? [] : [rest];
    this.#receivedBytes = rest.length;
    this.#wantedBytes = 2;
  }
}
