// Runs that once found a defect of the product, shrunk to what was needed: each must pass for ever.

import { joined, type Regression, step } from "./regression.ts";

export const REGRESSIONS_OF_THE_OBJECT: readonly Regression[] = [
  {
    found: "several assignments in one turn took a provider over its max_concurrent",
    plan: {
      seed: 4,
      steps: [
        step("create a batch", 0.8030643681995571, 0.4841623886022717, 0.6308306758292019, 0.17962813, 0.04172868),
        step("report presence", 0.8497163695283234, 0.5969656202942133, 0.9148560350295156, 0.36893202, 0.5504165),
        joined("configure", 0.5641252035275102),
        step("report presence", 0.28265510546043515, 0.8333803350105882, 0.9777935780584812, 0.62116819, 0.9473),
        joined("throw the killswitch", 0.6385198121424764),
        step("clear the killswitch", 0.5131827855948359),
      ],
    },
  },
  {
    found: "a worker that reported on its job after a silence was given nothing that waited",
    plan: {
      seed: 59,
      steps: [
        step("report presence", 0.2923203727696091, 0.2558900769799948, 0.4945927616208792, 0.08524779, 0.20853453),
        step("connect a socket", 0.3404574308078736),
        step("create a batch", 0.3578492742963135, 0.9718743613921106, 0.9480210626497865, 0.25236779, 0.701071),
        step("start", 0.3635133057832718, 0.9788660141639411, 0.5019919695332646, 0.58779284, 0.3045589),
        step("let time pass", 0.8960032812319696),
        step("create a batch", 0.24087457079440355, 0.09666504664346576, 0.36793922795914114, 0.2579979, 0.35182757),
        step("repeat a report", 0.35929523408412933, 0.005408225813880563, 0.6303794793784618, 0.178, 0.9581522),
      ],
    },
  },
  {
    found: "a worker whose pings came back was given nothing that waited",
    plan: {
      seed: 498,
      steps: [
        step("make a schedule", 0.7153469503391534, 0.735577326733619, 0.18756454810500145),
        step("report presence", 0.7114193553570658, 0.6116097322665155, 0.3538053643424064, 0.37030741, 0.2924337),
        step("connect a socket", 0.567834573565051, 0.0304447952657938),
        step("let time pass", 0.9116551107726991),
        joined("ping", 0.6957132511306554),
        step("create a batch", 0.8727626106701791, 0.556265207240358, 0.045159419067204, 0.51688231, 0.1341743),
      ],
    },
  },
  {
    found: "a batch to history that arrived late took back the result of a job",
    plan: {
      seed: 1,
      steps: [
        step("report presence", 0, 0.9),
        step("create", 0, 0, 0, 0.5, 0.5),
        step("claim", 0),
        step("start", 0),
        step("fail", 0, 0, 0.6),
        step("let time pass", 0.6),
        step("change the weather of history", 0.3),
        step("retry", 0),
        step("let time pass", 0.45),
        step("crash the object"),
        step("change the weather of history", 0),
        step("report presence", 0, 0.9),
        step("claim", 0),
        step("start", 0),
        step("complete", 0),
        step("let time pass", 0.7),
        step("a late batch lands", 0),
      ],
    },
  },
  {
    found: "a turn that broke took with it what others in its commit had to say: a revoked key kept its socket",
    plan: {
      seed: 868,
      steps: [
        step("create", 0.24591738963499665, 0.9366777508985251, 0.41045468486845493, 0.63613479, 0.4366769),
        joined("connect a socket", 0.853487596847117, 0.6158538304734975, 0.10439922800287604, 0.591311, 0.9543568),
        step("throw the killswitch", 0.9637423509266227),
        joined("break a turn", 0.6091834215912968),
        step("create", 0.8443080415017903, 0.1906149552669376, 0.1553269219584763, 0.56996978, 0.99865142),
        step("create", 0.8516033075284213, 0.7565744514577091, 0.6217163309920579, 0.8836807, 0.24457831),
        joined("revoke a key", 0.7993055954575539),
        step("patch", 0.4312522991094738, 0.45381807535886765, 0.2086373355705291, 0.61948517, 0.23824545),
      ],
    },
  },
  {
    found: "a worker that changed its provider made room at the old one, and nobody looked who waited for it",
    plan: {
      seed: 10693,
      steps: [
        step("report presence", 0.28053352958522737, 0.6285055112093687, 0.060433757957071066, 0.36364318, 0.94574435),
        step("configure", 0.5609966155607253),
        step("create", 0.20315671688877046, 0.5210391983855516, 0.5303342526312917, 0.04940245, 0.65424706),
        step("create a batch", 0.8936210165265948, 0.008224188117310405, 0.08627960598096251, 0.47453514, 0.2561251),
        joined("report presence", 0.8479393713641912, 0.5280268802307546, 0.648093031020835, 0.07448677, 0.741402),
        step("report presence", 0.277620815904811, 0.07656537787988782, 0.4953612049575895, 0.08195251, 0.78367218),
      ],
    },
  },
  {
    found: "a command that had read history long ago took back what the job had done since",
    plan: {
      seed: 315,
      steps: [
        step("report presence", 0.5287297724280506, 0.6726176885422319, 0.8725711116567254, 0.02079259, 0.10557),
        step("ask at the front door", 0.5929486029781401, 0.6910599679686129, 0.5241053805220872, 0.773665, 0.27733),
        step("let time pass", 0.9744059327058494),
        step("an edge stalls", 0.3125395968090743, 0.884303533937782),
        joined("an edge stalls", 0.1958636010531336, 0.7980900085531175),
        step("a stalled edge goes on", 0.08058168971911073),
        joined("let time pass", 0.8435620495583862),
        step("a stalled edge goes on", 0.34639483713544905),
      ],
    },
  },
  {
    found: "a provider that asked for a long rest and then for a short one was asked again after the short one",
    plan: {
      seed: 1,
      steps: [
        step("report presence", 0.6, 0.5, 0.9, 0.5, 0.5),
        step("create", 0.6, 0, 0, 0.5, 0.5),
        step("create", 0.6, 0, 0, 0.5, 0.5),
        step("claim", 0.6, 0.9),
        step("start", 0.6, 0),
        step("start", 0.6, 0),
        step("configure", 0.3125),
        step("a provider refuses all", 0.6, 0, 0, 0.11354),
        step("let time pass", 0.8),
      ],
    },
  },
  {
    found: "a job that a command brought back left before another command could hear of it",
    plan: {
      seed: 1,
      steps: [
        step("create", 0, 0, 0, 0.5, 0.9),
        step("cancel", 0.5),
        step("let time pass", 0.8),
        step("an edge stalls", 0, 0.9),
        step("an edge stalls", 0, 0.9),
        step("a stalled edge goes on", 0),
        step("let time pass", 0.54),
        step("a stalled edge goes on", 0),
      ],
    },
  },
  {
    found: "what a full halt held back for webhooks waited for some other alarm once it was cleared",
    plan: {
      seed: 5069,
      steps: [
        joined("report presence", 0.7741657870355994, 0.7294547, 0.955425, 0.002638085, 0.5589772637467831),
        step("create a batch", 0.22895032935775816, 0.34555352735333145, 0.033765289932489395, 0.4782, 0.98304),
        step("make a webhook", 0.9642112553119659, 0.7213081573136151),
        step("throw the killswitch", 0.8459339872933924, 0.08442124049179256, 0.156, 0.335, 0.6356),
        joined("let time pass", 0.7089864984154701),
      ],
    },
  },
  {
    found: "a viewer's frame noticed that a worker pings again, and its waiting job stayed",
    plan: {
      seed: 1000127,
      steps: [
        step("report presence"),
        step("create a batch"),
        step("connect a socket"),
        step("a stalled edge goes on"),
        step("connect a socket", 0.97),
        step("watch the dashboard"),
        step("let time pass", 0.91),
        step("ping"),
        step("drop a socket", 0.95),
        step("let time pass", 0.72),
      ],
    },
  },
  {
    found: "a viewer's frames were read ten times a second for as long as a clock was set back",
    plan: {
      seed: 1003549,
      steps: [
        step("create"),
        step("watch the dashboard"),
        step("report presence"),
        step("let time pass", 0.83),
        step("set the clock back", 0.99),
      ],
    },
  },
  {
    found: "after a clock was set back, a stored sign of life of the future made a silent worker alive again",
    plan: {
      seed: 1040499,
      steps: [
        step("report presence", 0.83525508, 0.95665391, 0.9247988, 0.64681606, 0.56013535),
        step("dispatch", 0.51065031, 0.30539169, 0.5820449, 0.66750457, 0.48260578),
        joined("create a batch", 0.91711536, 0.90639598, 0.70886937, 0.74288385, 0.52921217),
        step("beat", 0.5844771, 0.46171782, 0.05083613, 0.5965186, 0.74332217),
        step("replace the object", 0.75844602, 0.23186395, 0.16489395, 0.17933681, 0.42505091),
        step("create", 0.52804802, 0.64477507, 0.20285457, 0.48559766, 0.10945084),
        step("end a job and come back", 0.58950609, 0.95098875, 0.71742757, 0.79037499, 0.3447017),
        step("set the clock back", 0.95924956, 0.51681551, 0.362934, 0.74770392, 0.90682085),
        step("complete", 0.85817037, 0.3718668, 0.3292604, 0.68741149, 0.56536822),
        step("let time pass", 0.96148532, 0.04072402, 0.81092452, 0.5398821, 0.79735267),
        step("create", 0.50635903, 0.64202133, 0.08276556, 0.84592782, 0.55239989),
        joined("repeat a creation", 0.64923434, 0.17745501, 0.89835613, 0.74023627, 0.14654261),
        step("break a turn", 0.30735993, 0.47528989, 0.17507137, 0.33330875, 0.25187657),
        joined("repeat a report", 0.95680598, 0.79366406, 0.36565192, 0.04073488, 0.23902766),
        step("let time pass", 0.135264, 0.86593481, 0.40367061, 0.27158601, 0.13815855),
      ],
    },
  },
  {
    found: "the same for a worker that reported its presence since",
    plan: {
      seed: 1040743,
      steps: [
        step("create a batch", 0.47931909, 0.02798276, 0.14073776, 0.55667744, 0.12981954),
        step("report presence", 0.39149385, 0.33436919, 0.21071067, 0.12184903, 0.87306248),
        step("set the clock back", 0.87386095, 0.31426917, 0.63996853, 0.14671616, 0.146859),
        step("report presence", 0.37901185, 0.30459319, 0.81730511, 0.85402505, 0.2815041),
        step("dispatch", 0.1853892, 0.3883854, 0.24191409, 0.15731324, 0.64584047),
        step("let time pass", 0.91496052, 0.46709126, 0.91416299, 0.32422436, 0.99505132),
        step("fail", 0.35398427, 0.57069462, 0.32439404, 0.91844708, 0.10150695),
        step("report presence", 0.07373617, 0.834971, 0.98631684, 0.70817533, 0.40717082),
        step("crash in a turn", 0.12483262, 0.97556682, 0.74463007, 0.67606839, 0.83455499),
        step("start", 0.16508586, 0.27473947, 0.94460891, 0.34297764, 0.29918377),
        step("complete", 0.22625055, 0.03467923, 0.78102752, 0.08244546, 0.69096499),
      ],
    },
  },
];
