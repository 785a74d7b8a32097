/** Beside `.env`. It holds secrets, and the database none. */
export const RECEIVERS_FILE = 'receivers.json';

/** How a receiver takes changes: as events of Standard Webhooks, or as a message in a chat. */
export const FORMS = ['standard', 'slack', 'teams'] as const;
export type Form = (typeof FORMS)[number];

/** Where changes are delivered: an entry of `receivers.json`. */
export interface Receiver {
  readonly name: string;
  readonly source: string;
  /** Secret: of a chat, whoever knows it can post there. */
  readonly url: string;
  /** Signs what is sent; a chat needs none. */
  readonly secret?: string | undefined;
  /** Changes of which lists and kinds: `invoices.updated`, `*.deleted`, `*.*`. */
  readonly on: readonly string[];
  /** SQL over the columns of the view `changes`, run by the login that may only read. */
  readonly where?: string | undefined;
  readonly form: Form;
  /** The address may lie in a private network. Without it, whoever controls its name could have Sluice send there. */
  readonly allowPrivate: boolean;
}

export const isReceiverName = (text: string): boolean => /^[a-z][a-z0-9_-]{0,39}$/.test(text);

const PATTERN = /^(\*|[a-z][a-z0-9_]{0,39})\.(\*|inserted|updated|deleted|revived)$/;

/** The list and the kind of `invoices.updated`, each `*` for all; null for another text. */
export function parsePattern(text: string): { readonly resource: string; readonly kind: string } | null {
  const [, resource, kind] = PATTERN.exec(text) ?? [];
  return resource === undefined || kind === undefined ? null : { resource, kind };
}
