/** A mail that a function sent. */
export interface SentMail {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** The time at which it arrived, ISO 8601. */
  readonly at: string;
  /** The links of the mail, each once. */
  readonly links: readonly string[];
}
