/** Content of a mail. */
export interface MailContent {
  /** Subject. Line breaks and other control characters become spaces. */
  subject: string;
  /** Body as plain text. */
  text: string;
  /** Body as HTML. */
  html?: string;
}

/** Rendered mail, as a transport sends it. All parts are checked. */
export interface MailMessage extends MailContent {
  /** Id of the mail, the same in each attempt to send it. */
  readonly id: string;
  /** Name of the mail, from its declaration. */
  readonly name: string;
  /** Sender: an address, or `Name <address>`. */
  readonly from: string;
  /** Recipients. */
  readonly to: readonly string[];
  /** Recipients of a copy. */
  readonly cc: readonly string[];
  /** Recipients of a copy that the others do not see. */
  readonly bcc: readonly string[];
  /** Addresses of replies. */
  readonly replyTo: readonly string[];
  /** Further headers. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends mails. */
export interface MailTransport {
  /**
   * Sends a mail. A rejection is tried again, unless it is a `PermanentJobError`.
   *
   * @param message The mail.
   * @param signal Aborted when the time of the attempt is up.
   */
  send(message: MailMessage, signal: AbortSignal): Promise<void>;
}
