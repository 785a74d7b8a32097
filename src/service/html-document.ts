import { html } from 'hono/html';

/** A piece of a page whose values are escaped. */
export type Html = ReturnType<typeof html>;

interface HtmlDocument {
  /** Without the name of the product. */
  readonly title: string;
  readonly main: Html;
  readonly head?: Html;
  /** Before the bar at the top. */
  readonly above?: Html;
  /** In the bar, after the name of the product. */
  readonly bar?: Html;
  /** It is a form, or the answer to one, so it is not loaded again by itself. Default false. */
  readonly isStill?: boolean;
}

/** The frame of every page. The style is all that it loads. */
export const htmlDocument = ({
  title,
  main,
  head,
  above,
  bar,
  isStill = false,
}: HtmlDocument): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sluice</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console.css">
${head ?? ''}
</head>
<body${isStill ? html` data-still` : ''}>
${above ?? ''}
<header class="top"><a class="brand" href="/">Sluice</a>${bar ?? ''}</header>
<main id="main">
${main}
</main>
</body>
</html>`;
