// Opens an address in the browser of this machine.

import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** A machine without a screen has an opener that starts a browser in the terminal, or none. */
export const hasScreen = (env: Environment): boolean =>
  OPENERS[process.platform] !== undefined || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);

/** Whether the opener was started; the address must be printed, too, because a browser need not appear. */
export const openBrowser = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
    const child = spawn(command, [...args, address], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => resolve(true));
    child.unref();
  });
