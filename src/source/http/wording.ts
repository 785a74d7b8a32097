/** How messages name settings and next steps: a command names environment variables, a program names options. */
export interface Wording {
  readonly url: string;
  readonly exampleUrl: string;
  readonly apiKey: string;
  readonly concurrency: string;
  /** The next step after an answer that is too large. */
  readonly askForLess: string;
  /** How the work continues when the source is back. */
  readonly later: string;
}

export const COMMAND_WORDING: Wording = {
  url: 'SOURCE_URL',
  exampleUrl: 'SOURCE_URL=https://books.example.com',
  apiKey: 'SOURCE_API_KEY',
  concurrency: 'SOURCE_CONCURRENCY',
  askForLess: 'Request fewer rows at a time: lower SOURCE_PAGE_SIZE.',
  later: 'the next run continues where this one stopped.',
};

export const PROGRAM_WORDING: Wording = {
  url: '`url`',
  exampleUrl: "url: 'https://books.example.com'",
  apiKey: '`apiKey`',
  concurrency: '`concurrency`',
  askForLess: 'Request fewer rows at a time: lower `limit`.',
  later: 'try again later.',
};
