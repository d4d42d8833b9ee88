// Wake-on-LAN: the packet that a sleeping machine's network card listens for.

import { createSocket } from "node:dgram";
import { isIPv4 } from "node:net";
import { Failure, UsageError } from "./failure.ts";

const EVERYBODY = "255.255.255.255";
const PORT = 9;
const MAX_PORT = 65_535;
const REPEATS = 16;
const MAC = /^[0-9a-f]{2}([:-]?[0-9a-f]{2}){5}$/i;

export const macOf = (text: string): Buffer => {
  if (!MAC.test(text)) throw new UsageError(`--mac takes an address such as aa:bb:cc:dd:ee:ff, not "${text}"`);
  return Buffer.from(text.replaceAll(/[:-]/g, ""), "hex");
};

interface Broadcast {
  readonly address: string;
  readonly port: number;
}

/** An address, and a port if it is not the usual one. */
export const broadcastOf = (text: string = EVERYBODY): Broadcast => {
  const [address = "", digits = String(PORT), ...more] = text.split(":");
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (!isIPv4(address) || port < 1 || port > MAX_PORT || more.length > 0)
    throw new UsageError(`--broadcast takes an IPv4 address such as 192.168.1.255, not "${text}"`);
  return { address, port };
};

export const packetFor = (mac: Buffer): Buffer => Buffer.concat([Buffer.alloc(6, 0xff), ...Array(REPEATS).fill(mac)]);

export const sendMagicPacket = async (mac: Buffer, { address, port }: Broadcast): Promise<void> => {
  const socket = createSocket("udp4");
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.bind(0, () => {
        socket.setBroadcast(true);
        socket.send(packetFor(mac), port, address, (error) => (error ? reject(error) : resolve()));
      });
    });
  } catch (error) {
    throw new Failure(`no packet could be sent to ${address}: ${(error as Error).message}`);
  } finally {
    socket.close();
  }
};
