// The release, as `GET /health` returns it; a test compares it with package.json.
export const VERSION = "0.2.0";

/** Where a coordinator has its package. npx caches it by its address, which a version makes new. */
export const packageAt = (url: string, version?: string): string =>
  `${url}/signalbox.tgz${version === undefined ? "" : `?${version}`}`;

/** npm 12 fetches a package from an address only where it is told to; older ones do so in any case. */
const FROM_ADDRESS = "--allow-remote=root";

export const npx = (address: string): string => `npx ${FROM_ADDRESS} ${address}`;
export const npmInstall = (address: string): string => `npm install ${FROM_ADDRESS} ${address}`;
