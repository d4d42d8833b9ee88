/** Why something waits, or was taken back, under the killswitch. */
export const haltReason = (level: number): string => `killswitch level ${level}`;
