// Why a sign-in failed, in words for the person and for the attempts that administrators see. Never contains a token.

export class IdentityError extends Error {
  /** The identity provider or the network is to blame, not what the person brought. */
  readonly isAway: boolean;

  constructor(message: string, isAway = false) {
    super(message);
    this.isAway = isAway;
  }
}
