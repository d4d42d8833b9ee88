// The name of the Python package as the coordinator serves it: pip reads the version from it.

import { VERSION } from "./version.ts";

export const WHEEL_NAME = `signalbox-${VERSION}-py3-none-any.whl`;
