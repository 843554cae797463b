/** Services that the client of tests replaces, because the real ones need a network. */
export interface TestServices {
  /** Takes a rendered mail. */
  readonly sendMail: (mail: object) => void;
  /** Takes the body of a message for the queue of jobs, which delivers it after a delay. */
  readonly sendToJobQueue: (body: string, delaySeconds: number) => void;
  /** Takes a message for a WebSocket connection; returns false if the connection has ended. */
  readonly postToConnection: (connectionId: string, data: Uint8Array) => boolean;
}

let services: TestServices | undefined;

/**
 * Replaces services in this process.
 *
 * @param replacement The services; `undefined` for the real ones.
 */
export function setTestServices(replacement: TestServices | undefined): void {
  services = replacement;
}

/** Returns the services of a test; `undefined` outside of tests. */
export function getTestServices(): TestServices | undefined {
  return services;
}
