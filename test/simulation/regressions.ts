// Runs that once found a defect, shrunk to what was needed: each must pass for ever.

import type { Plan, Step, StepKind } from "./plan.ts";

export interface Regression {
  /** The defect that it found. */
  readonly found: string;
  readonly plan: Plan;
}

const step = (kind: StepKind, ...chances: number[]): Step => {
  const [a = 0, b = 0.5, c = 0, d = 0, e = 0] = chances;
  return { kind, chances: [a, b, c, d, e], isJoined: false };
};

const joined = (kind: StepKind, ...chances: number[]): Step => ({ ...step(kind, ...chances), isJoined: true });

export const REGRESSIONS: readonly Regression[] = [
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
    found: "the simulation: an alarm set before the clock was set back counted as late",
    plan: {
      seed: 1000063,
      steps: [
        step("change the mood of the receiver", 0.59),
        step("make a webhook", 0, 0.3),
        step("report presence", 0.36),
        step("dispatch"),
        step("connect a socket", 0.26),
        step("ask at the front door"),
        step("complete", 0.32, 0.34),
        step("clear the killswitch"),
        step("throw the killswitch", 0.67),
        step("throw the killswitch", 0.39),
        step("pause", 0.26),
        step("let time pass"),
        step("set the clock back", 0.89),
        step("an edge stalls"),
      ],
    },
  },
  {
    found: "the simulation: a request without a stream counted as begun",
    plan: {
      seed: 1000238,
      steps: [
        step("connect a socket", 0.69),
        step("report presence", 0.68),
        step("dispatch"),
        step("ask at the front door"),
        step("connect a socket", 0.57),
        step("release", 0.63, 0.34),
        step("say the first word", 0.74, 0.5, 0, 0, 0.93),
        step("lose power for hours", 0.56),
        step("connect a socket", 0.7),
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
    found: "the simulation: a turn that failed after the clock was set back hid an earlier one",
    plan: {
      seed: 1003088,
      steps: [
        step("change the weather of history", 0.44),
        step("report presence", 0.88),
        step("let time pass", 1),
        step("ask at the front door", 0, 0.5, 0, 0.71),
        step("break a turn"),
        step("let time pass", 0.62),
        step("set the clock back", 0.88),
        step("clear the killswitch"),
      ],
    },
  },
  {
    found: "the simulation: a sign of life from before the clock was set back counted as a later one",
    plan: {
      seed: 1003974,
      steps: [
        step("report presence", 0.54),
        step("set the clock back", 0.93),
        step("claim", 0.66),
        step("let time pass", 0.94),
        step("dispatch", 0, 0.32),
        step("crash in a turn"),
        step("report presence"),
        step("sign in"),
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
  {
    found: "the simulation: jobs that a new month lets run were expected before the alarm",
    plan: {
      seed: 1041254,
      steps: [
        step("create a batch", 0.42230379, 0.8288174, 0.69574323, 0.41928441, 0.71206237),
        step("dispatch", 0.84901289, 0.15576318, 0.02746614, 0.44275903, 0.60893565),
        step("create", 0.36394117, 0.95083424, 0.49210676, 0.19300929, 0.2337561),
        step("repeat a creation a day later", 0.58965735, 0.39161192, 0.68910226, 0.12939143, 0.74659087),
        joined("create", 0.82773198, 0.7319922, 0.86350673, 0.38654705, 0.26186346),
        joined("end a job and come back", 0.26072464, 0.24111972, 0.58696464, 0.06991535, 0.15959013),
        step("repeat a creation a day later", 0.5836269, 0.50640147, 0.42175722, 0.19290492, 0.38409748),
        step("a provider refuses all", 0.01022899, 0.11557773, 0.84628896, 0.28711641, 0.06913319),
        step("complete", 0.92168253, 0.3385563, 0.97189572, 0.08352602, 0.54038488),
        step("let time pass", 0.36994514, 0.54824373, 0.79241428, 0.87265437, 0.84170672),
        step("create", 0.43771761, 0.30046706, 0.65365819, 0.09767057, 0.30513793),
        step("create", 0.46147715, 0.63980617, 0.96166566, 0.3742901, 0.09575696),
        step("repeat a creation a day later", 0.66245348, 0.2467918, 0.01782881, 0.1067786, 0.90710118),
        step("let time pass", 0.63621235, 0.21961322, 0.42698754, 0.48675118, 0.4846127),
        step("let time pass", 0.66111909, 0.01389324, 0.18772245, 0.76085842, 0.19847155),
        step("let time pass", 0.85175513, 0.55753486, 0.70245347, 0.10257533, 0.55997752),
        joined("let time pass", 0.81968243, 0.88872092, 0.10417823, 0.95224983, 0.34533164),
        step("let time pass", 0.3299921, 0.92623852, 0.0015117, 0.8819061, 0.86620936),
        joined("let time pass", 0.62067346, 0.63420194, 0.8739901, 0.60833135, 0.53475525),
        step("let time pass", 0.54797963, 0.66346228, 0.78086191, 0.27091618, 0.18268368),
        step("let time pass", 0.81326999, 0.06313612, 0.85941506, 0.79312638, 0.53562435),
        step("let time pass", 0.79494772, 0.39269331, 0.00776755, 0.13713597, 0.8337988),
        step("let time pass", 0.5216955, 0.09999915, 0.9744772, 0.31977011, 0.7481439),
        step("configure", 0.58182007, 0.53417533, 0.73465895, 0.58522439, 0.32999786),
        step("let time pass", 0.94766868, 0.98263059, 0.00603806, 0.44578461, 0.33259988),
        step("let time pass", 0.55275142, 0.61031852, 0.07319899, 0.21005203, 0.4424826),
        step("let time pass", 0.77086211, 0.14247042, 0.62754705, 0.88819702, 0.84089232),
        step("let time pass", 0.84558258, 0.09429757, 0.94479756, 0.74745416, 0.19582554),
        step("let time pass", 0.91785167, 0.905092, 0.66563212, 0.82230213, 0.76736101),
        step("hold the alarm", 0.11180836, 0.17635027, 0.34142904, 0.87823853, 0.17435353),
        step("report presence", 0.57175331, 0.00366456, 0.33365226, 0.34606425, 0.16375313),
        joined("let time pass", 0.68769068, 0.51630692, 0.36711814, 0.05001532, 0.4553444),
        joined("create", 0.23028323, 0.76000758, 0.56736516, 0.11306097, 0.02891794),
        step("let time pass", 0.92375709, 0.02995868, 0.78394938, 0.84322014, 0.69940145),
      ],
    },
  },
  {
    found: "the simulation: a job was expected to leave a lost socket's worker at once for one that had failed it",
    plan: {
      seed: 2000039,
      steps: [
        step("create", 0.86164195, 0.04144791, 0.40759879, 0.08146974, 0.582918),
        step("report presence", 0.43340847, 0.11823286, 0.03672562, 0.88927655, 0.10038146),
        step("create", 0.24991719, 0.6496519, 0.55989571, 0.60588751, 0.81423664),
        step("create a batch", 0.00456327, 0.9979602, 0.06190147, 0.04989059, 0.4715406),
        step("connect a socket", 0.35105566, 0.2536286, 0.08087476, 0.00062123, 0.64617409),
        step("fail", 0.32664968, 0.78709596, 0.48055835, 0.52678022, 0.28350987),
        step("report presence", 0.56913233, 0.61653532, 0.74306777, 0.05673465, 0.33142179),
        step("repeat a creation a day later", 0.76217735, 0.96112575, 0.60953947, 0.06900804, 0.24871598),
        step("connect a socket", 0.59579127, 0.28491928, 0.18535862, 0.59886313, 0.60772417),
        step("wait for a job", 0.32320913, 0.47980589, 0.1730205, 0.81263132, 0.93856825),
        step("create", 0.10313016, 0.7908918, 0.5031697, 0.38695332, 0.18631816),
        step("let time pass", 0.33410078, 0.12798997, 0.1053624, 0.54209978, 0.87647876),
      ],
    },
  },
  {
    found: "the simulation: a young job that the explaining turn gave out was not seen",
    plan: {
      seed: 3101353,
      steps: [
        step("change the weather of history", 0.22077544, 0.83110566, 0.32322416, 0.40138989, 0.58193688),
        step("report presence", 0.60620342, 0.56379028, 0.23875052, 0.50864856, 0.72701556),
        step("throw the killswitch", 0.20470528, 0.51490584, 0.22727753, 0.82207642, 0.97911694),
        step("create", 0.66445642, 0.7600764, 0.59769147, 0.24261943, 0.20148073),
        step("create a batch", 0.5278705, 0.45424845, 0.43398763, 0.6743783, 0.72470186),
        joined("connect a socket", 0.69084851, 0.80171544, 0.38183599, 0.71767503, 0.77641131),
        step("create", 0.17082184, 0.65660312, 0.70895962, 0.93402022, 0.98658529),
        step("let time pass", 0.81657072, 0.40414106, 0.0958396, 0.57258699, 0.11400575),
        step("let time pass", 0.79705076, 0.58874968, 0.2745895, 0.73285715, 0.52775928),
        joined("clear the killswitch", 0.18652219, 0.24472468, 0.4989706, 0.39882195, 0.83235693),
        step("let time pass", 0.42453921, 0.28822427, 0.66700275, 0.53258333, 0.7583174),
        step("ping", 0.59556997, 0.22545154, 0.4384817, 0.04750585, 0.27844427),
        step("dispatch", 0.20118267, 0.76924009, 0.84268577, 0.93917822, 0.7003915),
      ],
    },
  },
  {
    found: "the simulation: a clock set back into a day whose budget was reached was expected to halt the tenant",
    plan: {
      seed: 3103633,
      steps: [
        step("make a schedule", 0.59607228, 0.92241587, 0.67677423, 0.5210462, 0.3138145),
        joined("let time pass", 0.85525866, 0.43616006, 0.64970979, 0.70672289, 0.31978463),
        step("let time pass", 0.87590277, 0.21323975, 0.3804658, 0.43401043, 0.22823369),
        step("report presence", 0.00764542, 0.06177523, 0.35244731, 0.24695111, 0.57430424),
        joined("create", 0.97328066, 0.50023669, 0.95491064, 0.61225762, 0.61430454),
        step("let time pass", 0.99674928, 0.75396426, 0.63034194, 0.28417096, 0.77631763),
        step("claim", 0.04229345, 0.04637041, 0.7464883, 0.59259322, 0.74809858),
        step("let time pass", 0.87743829, 0.06626927, 0.29622753, 0.27842867, 0.12482551),
        joined("create", 0.74578207, 0.45921324, 0.42013635, 0.85086532, 0.26388717),
        step("complete", 0.12963854, 0.30926274, 0.53652202, 0.62601753, 0.73362454),
        step("complete", 0.062211, 0.79503021, 0.49767522, 0.60967219, 0.87160072),
        step("configure", 0.40197734, 0.24714383, 0.66773349, 0.55111105, 0.79016182),
        step("repeat a creation a day later", 0.67658012, 0.26091859, 0.96039019, 0.11836178, 0.92719372),
        step("clear the killswitch", 0.09369398, 0.77721003, 0.98093669, 0.16579799, 0.71521998),
        step("set the clock back", 0.9201872, 0.00622159, 0.32699172, 0.36414305, 0.10057404),
        step("claim", 0.05782837, 0.26051025, 0.59739, 0.96010917, 0.41220173),
      ],
    },
  },
  {
    found: "the rare mutants: half of a key's requests were free, and all were refused after the clock was set back",
    plan: {
      seed: 1,
      steps: [
        step("configure", 0.8),
        step("ask often", 0.99, 0),
        step("set the clock back", 0.9),
        step("ask often", 0.99, 0),
        step("let time pass", 0.7),
        step("ask often", 0.1, 0),
      ],
    },
  },
  {
    found: "the rare mutant: a move that was cancelled ended an operator's halt",
    plan: { seed: 1, steps: [step("throw the killswitch", 0.3), step("leave and stay", 0.1)] },
  },
  {
    found: "the rare mutant: a storage that had room once had it for ever",
    plan: {
      seed: 1,
      steps: [
        step("fill the storage", 0.9),
        step("let time pass", 0.6),
        step("create"),
        step("fill the storage", 0.1),
        step("let time pass", 0.6),
        step("create"),
      ],
    },
  },
];
