/** An error in the format of S3, which clients throw. */
export class S3Error extends Error {
  /**
   * @param status Status of the response.
   * @param message What is wrong.
   */
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }

  /** Returns the body of the response. */
  toXml(): string {
    const message = this.message.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
    return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${this.code}</Code>` +
      `<Message>${message}</Message></Error>`;
  }
}

/** Creates the error of a request that S3 does not allow. */
export function denied(message: string): S3Error {
  return new S3Error(403, "AccessDenied", message);
}
