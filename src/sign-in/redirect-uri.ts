// The address to which an identity provider sends people back.

import type { AppContext } from "../http/auth.ts";
import { publicOrigin } from "../http/public-address.ts";

export const redirectUri = (c: AppContext): string => `${publicOrigin(c)}/auth/callback`;
