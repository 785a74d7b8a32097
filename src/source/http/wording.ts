/** How messages name what a person set and what comes later: a command speaks of its settings, a program of its options. */
export interface Wording {
  readonly url: string;
  readonly exampleUrl: string;
  readonly apiKey: string;
  /** What to do about an answer that is too large. */
  readonly askForLess: string;
  /** What becomes of the work when the source is back. */
  readonly later: string;
}

export const COMMAND_WORDING: Wording = {
  url: 'SOURCE_URL',
  exampleUrl: 'SOURCE_URL=https://books.example.com',
  apiKey: 'SOURCE_API_KEY',
  askForLess: 'Ask for less at a time: SOURCE_PAGE_SIZE.',
  later: 'the next run goes on where this one stopped.',
};

export const PROGRAM_WORDING: Wording = {
  url: '`url`',
  exampleUrl: "url: 'https://books.example.com'",
  apiKey: '`apiKey`',
  askForLess: 'Ask for less at a time: `limit`.',
  later: 'try again later.',
};
